/**
 * How references are written. `steps`: `$steps.gen.output`, `$input`. `graph`: bare names are paths into state.
 * What follows from it for values: in `steps` a condition reads `yes`, `1`, `true`; in `graph` a value counts as
 * true when it is not empty, and what is missing is None.
 */
export type Spelling = "steps" | "graph"
