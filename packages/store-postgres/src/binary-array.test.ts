/** Arrays in the binary format, as the server reads them. */
import { expect, test } from "vitest"
import { bigintArray, booleanArray, floatArray, intArray, textArray } from "./binary-array.ts"
import { sql } from "./stores.test-support.ts"

const texts = ["", "a", 'quotes " and \\ { , }', "NULL", null, "Störche 🕊", "x".repeat(100_000)]
const bigints = [0, 1, -1, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 32 - 1, 2 ** 53 - 1, -(2 ** 53 - 1)]
const floats = [0, 0.1, -1.5, null, 1_794_952_773_466.25, Number.MAX_VALUE]

test.each([
  ["text", textArray(texts), texts],
  ["int", intArray([0, 1, -1, 2 ** 31 - 1, -(2 ** 31)]), [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)]],
  ["bigint", bigintArray(bigints), bigints.map(String)],
  ["float8", floatArray(floats), floats],
  ["boolean", booleanArray([true, false]), [true, false]],
  ["text", textArray([]), []],
  ["int", intArray([]), []],
])("an array of %s has its elements, in their order (%#)", async (type, array, expected) => {
  expect(await sql(`SELECT $1::${type}[] AS list, cardinality($1::${type}[]) AS length`, [array])).toEqual([
    { list: expected, length: expected.length },
  ])
})

test("an array of another type than the declared one is refused", async () => {
  await expect(sql("SELECT $1::bigint[]", [intArray([1])])).rejects.toThrow(/type/)
})
