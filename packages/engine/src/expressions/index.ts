/** Expressions and templates of definitions: two spellings on one engine, with CEL's grammar. */
export { type Condition, condition } from "./condition.ts"
export type { Scope } from "./evaluation.ts"
export { expression } from "./expression.ts"
export { ExpressionError } from "./expression-error.ts"
export type { Reference, Spelling } from "./syntax.ts"
export { filling, template } from "./template.ts"
export { textOf, valueAt } from "./values.ts"
export { variables } from "./variables.ts"
