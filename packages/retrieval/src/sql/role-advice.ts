/** What messages about an unsafe role propose: it names what a goal file and code accept. */
export const UNSAFE_ROLE_ADVICE =
  "To use this role anyway, set `allow_unsafe_role: true` for the database in the goal file, or " +
  "`allowUnsafeRole: true` in code."
