/** The figures in Markdown are those of bench/results, and growth is fitted as bench/growth.mjs says. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"

const bench = join(import.meta.dirname, "../../bench")

interface Row {
  readonly name: string
  readonly exponent: number | undefined
}
interface Fit {
  fittedExponent(points: readonly { readonly size: number; readonly cost: number }[]): number | undefined
  steepRows(rows: readonly Row[]): readonly string[]
}
interface Figures {
  readResults(): { readonly [name: string]: unknown }
  withFigures(file: string, text: string, results: unknown): string
}

const load = (file: string) => import(/* @vite-ignore */ pathToFileURL(join(bench, file)).href)
const { fittedExponent, steepRows } = (await load("src/growth/fit.mjs")) as Fit
const { readResults, withFigures } = (await load("src/figures.mjs")) as Figures

describe("figures", () => {
  test("README.md, bench/README.md and docs/scaling.md have those of bench/results", () => {
    const { status, stderr } = spawnSync(process.execPath, [join(bench, "tables.mjs"), "--check"], {
      encoding: "utf8",
    })
    expect(stderr).toBe("")
    expect(status).toBe(0)
  })

  test("a row with another figure is replaced, and a missing row is an error", () => {
    const labels = [
      "one step in memory, chain of 1,000",
      "1,000 durable steps of 1 KB, file size",
      "fan-out of 10,000, per task",
    ]
    const text = labels.map((label) => `| ${label} | 0 µs | – |`).join("\n")
    expect(withFigures("README.md", text, readResults())).not.toContain("| 0 µs |")
    expect(() => withFigures("README.md", "no table", readResults())).toThrow(
      'README.md has no row "one step in memory, chain of 1,000"',
    )
  })
})

describe("growth", () => {
  const sizes = [10, 100, 1_000, 10_000, 100_000]
  const points = (cost: (size: number) => number) => sizes.map((size) => ({ size, cost: cost(size) }))

  test("a linear cost has the exponent 1, whatever the start costs", () => {
    expect(fittedExponent(points((size) => 3 * size))).toBeCloseTo(1, 5)
    expect(fittedExponent(points((size) => 500_000 + 3 * size))).toBeCloseTo(1, 5)
  })

  test("a quadratic cost has the exponent 2, also below a large start", () => {
    expect(fittedExponent(points((size) => size ** 2))).toBeCloseTo(2, 1)
    expect(fittedExponent(points((size) => 1e6 + size ** 2))).toBeCloseTo(2, 1)
  })

  test("a row that grows faster than its size is named, and so is one that nothing is known of", () => {
    const rows = [
      { name: "items", exponent: 1.1 },
      { name: "steps", exponent: 1.5 },
      { name: "runs", exponent: undefined },
    ]
    expect(steepRows(rows)).toEqual([
      "steps: grows with exponent 1.50, above 1.10",
      "runs: too few sizes were measured to fit an exponent",
    ])
  })

  test("a row may grow as fast as the same work without an engine, which is no row of its own", () => {
    const copied = { name: "copied", limitOf: "read", exponent: 1.6 }
    expect(steepRows([{ name: "read", exponent: 1.65 }, copied])).toEqual([])
    expect(steepRows([{ name: "read", exponent: 1.75 }, copied])).toEqual([
      "read: grows with exponent 1.75, above 1.70",
    ])
  })
})
