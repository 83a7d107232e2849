import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkSelect, sqlTokens } from "./select-guard.ts"

const dialect = {
  beginnings: ["select", "with"],
  whyRefused: (name: string) => (name === "bad" ? "it is bad" : undefined),
}
const check = (sql: string) => () => checkSelect(sql, dialect)

describe("allowed queries", () => {
  test.each([
    "SELECT 1",
    "  -- first\n select 1 ; ; -- last",
    "((SELECT 1))",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "SELECT 'bad(1); DROP TABLE x', $$bad(1);$$, $a$ $b$ bad( $a$",
    "SELECT \"bad\", bad FROM t WHERE x = 'it''s; bad('",
    "SELECT /* bad(1); /* nested */ ; */ 1",
    "SELECT E'it\\'s; bad('",
    "SELECT e, u FROM t",
    "SELECT bad_too(1), too_bad(1)",
  ])("%s", (sql) => expect(check(sql)).not.toThrow())
})

describe("refused queries", () => {
  test.each([
    ["", "it is empty"],
    ["-- nothing", "it is empty"],
    [" ; ;", "it is empty"],
    ["((DELETE FROM x))", "only one SELECT can be run, and this begins with DELETE"],
    ["DROP TABLE x", "only one SELECT can be run, and this begins with DROP"],
    ["SELECT 1; SELECT 2", "only one statement is allowed"],
    ["SELECT 'a\\'; DROP TABLE x; --'", "only one statement is allowed"],
    ["SELECT $a$ $b$ $a$; DROP TABLE x; SELECT $b$ $b$", "only one statement is allowed"],
    ["SELECT bad(1)", "the function bad is not allowed"],
    ["SELECT BAD (1)", "the function bad is not allowed"],
    ["SELECT x.bad/* */\n(1)", "the function bad is not allowed"],
    ['SELECT "bad"(1)', "the function bad is not allowed"],
    ["SELECT bad\u00a0(1)", "the function bad is not allowed"],
    // DuckDB treats it as a space.
    ["SELECT bad\u2060(1)", "the function bad is not allowed"],
    ["SELECT 'a' -- '\r, bad(1) --'", "the function bad is not allowed"],
    ["SELECT E'\\\\', bad('x')", "the function bad is not allowed"],
    ["SELECT E'a'\n'b\\', bad('", "continues in a second part"],
    ['SELECT U&"b\\0061d"(1)', "Unicode escapes"],
    ["SELECT 'a", "a string is not closed"],
    ['SELECT "a', "a quoted name is not closed"],
    ["SELECT /* 1", "a comment is not closed"],
    ["SELECT $a$ 1", "the string that begins with $a$ is not closed"],
    ["SELECT '\0'", "NUL"],
  ])("%j", (sql, why) => {
    expect(check(sql)).toThrow(why)
    expect(check(sql)).toThrow(expect.objectContaining({ code: "QUERY_REFUSED", retryable: false }))
  })
})

test("any text is tokenized or refused, and no code is lost", () => {
  const piece = fc.constantFrom(
    "'",
    '"',
    "$",
    "$$",
    "$a$",
    "--",
    "\n",
    "/*",
    "*/",
    "E'",
    "\\",
    ";",
    "(",
    " ",
    "x",
    "1",
    "é",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const sql = pieces.join("")
      try {
        // A statement after all of it is always found, unless the text before does not end.
        expect(sqlTokens(`${sql}\n drop`).at(-1)).toEqual({ kind: "name", text: "drop" })
      } catch (error) {
        if ((error as { code?: string }).code !== "QUERY_REFUSED") throw error
      }
    }),
  )
})
