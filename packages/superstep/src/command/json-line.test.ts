import { expect, test } from "vitest"
import { jsonLine, jsonText } from "./json-line.ts"

test("what would steer a terminal is escaped, and the data stays the same", () => {
  const value = { text: "a\u001b[2J\u009b2J\u202e\u2028\u007f é 漢" }
  const line = jsonLine(value)
  expect(line).toBe('{"text":"a\\u001b[2J\\u009b2J\\u202e\\u2028\\u007f é 漢"}')
  expect(JSON.parse(line)).toEqual(value)
})

test("there is always a line, and people get several", () => {
  expect(jsonLine(undefined)).toBe("null")
  expect(jsonText({ a: [1] }, 2)).toBe('{\n  "a": [\n    1\n  ]\n}')
})
