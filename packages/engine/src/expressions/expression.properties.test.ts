import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isSuperstepError, type Json } from "../core/index.ts"
import { condition, expression, type Spelling, template, variables } from "./index.ts"

/** The precedence of an operator, weakest first; `!` binds like a unary minus. */
const LEVELS = { or: 1, and: 2, not: 3, compare: 4, add: 5, multiply: 6, prefix: 7, atom: 8 }

type Names = Readonly<Record<string, number | boolean>>

/** A small expression: its text in each spelling, and its value in JavaScript. */
interface Tree {
  readonly print: (spelling: Spelling) => { readonly text: string; readonly level: number }
  readonly value: (names: Names) => number | boolean
}

const sign = (spelling: Spelling) => (spelling === "steps" ? "$" : "")

function leaf(text: (spelling: Spelling) => string, value: Tree["value"]): Tree {
  return { print: (spelling) => ({ text: text(spelling), level: LEVELS.atom }), value }
}

function within({ print }: Tree, spelling: Spelling, level: number): string {
  const printed = print(spelling)
  return printed.level >= level ? printed.text : `(${printed.text})`
}

function binary(
  operator: string,
  level: number,
  [left, right]: readonly [Tree, Tree],
  value: Tree["value"],
): Tree {
  // Comparisons are not chained, so both their operands bind stronger.
  const leftLevel = level === LEVELS.compare ? level + 1 : level
  const print = (spelling: Spelling) => ({
    text: `${within(left, spelling, leftLevel)} ${operator} ${within(right, spelling, level + 1)}`,
    level,
  })
  return { print, value }
}

const number = fc.integer({ min: -3, max: 3 })
const literal = number.map((n) =>
  leaf(
    () => (n < 0 ? `(${n})` : n % 2 ? `${n}` : `${n}.0`),
    () => n,
  ),
)
const numericName = fc.constantFrom("a", "b").map((name) =>
  leaf(
    (spelling) => `${sign(spelling)}${name}`,
    (names) => names[name] as number,
  ),
)
const booleanName = fc.constantFrom("p", "q").map((name) =>
  leaf(
    (spelling) => `${sign(spelling)}${name}.is[-1]`,
    (names) => names[name] as boolean,
  ),
)

const { logical } = fc.letrec<{ numeric: Tree; logical: Tree }>((tie) => ({
  numeric: fc.oneof(
    { depthSize: "small" },
    literal,
    numericName,
    fc.tuple(tie("numeric"), tie("numeric"), fc.constantFrom("+", "-", "*")).map(([left, right, operator]) =>
      binary(operator, operator === "*" ? LEVELS.multiply : LEVELS.add, [left, right], (names) => {
        const [l, r] = [left.value(names) as number, right.value(names) as number]
        return operator === "+" ? l + r : operator === "-" ? l - r : l * r
      }),
    ),
  ),
  logical: fc.oneof(
    { depthSize: "small" },
    booleanName,
    fc
      .tuple(tie("numeric"), tie("numeric"), fc.constantFrom("==", "!=", "<", "<=", ">", ">="))
      .map(([left, right, operator]) =>
        binary(operator, LEVELS.compare, [left, right], (names) =>
          compared(operator, left.value(names) as number, right.value(names) as number),
        ),
      ),
    fc.tuple(tie("numeric"), fc.array(number, { maxLength: 3 }), fc.boolean()).map(([item, list, isIn]) => {
      const items = leaf(
        () => JSON.stringify(list),
        () => 0,
      )
      return binary(
        isIn ? "in" : "not in",
        LEVELS.compare,
        [item, items],
        (names) => list.some((n) => n === item.value(names)) === isIn,
      )
    }),
    fc
      .tuple(tie("logical"), tie("logical"), fc.constantFrom("and", "or", "&&", "||"))
      .map(([left, right, operator]) => {
        const isAnd = operator === "and" || operator === "&&"
        return binary(operator, isAnd ? LEVELS.and : LEVELS.or, [left, right], (names) =>
          isAnd ? left.value(names) && right.value(names) : left.value(names) || right.value(names),
        )
      }),
    fc.tuple(tie("logical"), fc.boolean()).map(([operand, isWord]): Tree => {
      const level = isWord ? LEVELS.not : LEVELS.prefix
      return {
        print: (spelling) => ({ text: `${isWord ? "not " : "!"}${within(operand, spelling, level)}`, level }),
        value: (names) => !operand.value(names),
      }
    }),
  ),
}))

function compared(operator: string, left: number, right: number): boolean {
  switch (operator) {
    case "==":
      return left === right
    case "!=":
      return left !== right
    case "<":
      return left < right
    case "<=":
      return left <= right
    case ">":
      return left > right
    default:
      return left >= right
  }
}

const names = fc.record({ a: number, b: number, p: fc.boolean(), q: fc.boolean() })
const PIECES = [
  ..."$ab.[](){}!&|=<>+-*/%?:,'\"\\ \n0159#",
  ...[
    "$steps.a-b",
    "{{",
    "}}",
    "not ",
    "in",
    " is ",
    "None",
    "and",
    "or",
    "x.map(y,",
    "has(",
    ".matches('(a",
    "true",
  ],
  ...["__proto__", "constructor", "r0", "m_x", "0x", "1e9", "r'", "b'", "size(", "💡", "${A", ":-"],
]
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }).map((pieces) => pieces.join("")),
)

describe("expressions", () => {
  it("have the same meaning in both spellings as the same tree in JavaScript", () => {
    fc.assert(
      fc.property(logical, names, (tree, given) => {
        const scope = (root: string): Json => {
          const value = given[root as "a"] as number | boolean
          return typeof value === "boolean" ? { is: [null, value] } : value
        }
        for (const spelling of ["steps", "graph"] as const) {
          const { text } = tree.print(spelling)
          expect({ text, value: expression(text, spelling).evaluate(scope) }).toEqual({
            text,
            value: tree.value(given),
          })
          expect(condition(`{{ ${text} }}`, spelling).holds(scope)).toBe(tree.value(given))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it("of any text throw only errors of the family, with positions inside the text", () => {
    const values: Json = { a: 1, b: [1, "x", null, { c: true }], steps: { "a-b": "yes" } }
    fc.assert(
      fc.property(anyText, fc.constantFrom<Spelling>("steps", "graph"), (text, spelling) => {
        const scope = (root: string) =>
          Object.hasOwn(values, root) ? (values[root as "a"] as Json) : undefined
        const attempts = [
          () => expression(text, spelling).evaluate(scope),
          () => template(text, spelling).render(scope),
          () => condition(text, spelling).holds(scope),
        ]
        for (const attempt of attempts) {
          try {
            attempt()
          } catch (error) {
            if (!isSuperstepError(error)) throw error
            if (error.code !== "EXPRESSION_INVALID") continue
            const { start, end } = error as unknown as { start: number; end: number }
            expect(0 <= start && start <= end && end <= text.length, `${text}: ${start}-${end}`).toBe(true)
          }
        }
        variables(text, () => "v")
      }),
      { numRuns: 5_000 },
    )
  })

  it("report every reference with its source text", () => {
    fc.assert(
      fc.property(logical, (tree) => {
        const { text } = tree.print("steps")
        for (const { root, path, start, end } of expression(text, "steps").references) {
          expect(text.slice(start, end)).toBe(path.length === 0 ? `$${root}` : `$${root}.is[-1]`)
        }
      }),
    )
  })
})
