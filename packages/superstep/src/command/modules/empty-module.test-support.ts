/** For tests of the command: a module without a workflow. */
export const nothing = true
