/** Expressions and templates of definitions: two spellings on one engine, with CEL's grammar. */

export type { Scope } from "./evaluation.ts"
export { expression } from "./expression.ts"
export { ExpressionError } from "./expression-error.ts"
export type { Reference, Spelling } from "./syntax.ts"
export { type Condition, condition, filling, template, variables } from "./template.ts"
export { textOf, valueAt } from "./values.ts"
