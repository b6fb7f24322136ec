/*
 * Included into the verifiers that spin generates, when gcc compiles them. do_transit, all steps of the model in one function, takes three quarters
 * of gcc's time at -O2 and a third of the search's; unoptimized it costs the search less than that saves.
 */
struct Trans;
unsigned char do_transit(struct Trans *, short) __attribute__((optimize("O0")));
