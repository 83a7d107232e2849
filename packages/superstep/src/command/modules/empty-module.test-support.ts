/** For tests of the CLI: a module without a workflow. */
export const nothing = true
