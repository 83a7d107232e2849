import { describe, expect, it } from "vitest"
import { variables } from "./index.ts"

const SET: Record<string, string> = { HOST: "db", EMPTY: "", LOOKS: `\${HOST}` }
const fill = (source: string) =>
  variables(source, (name) => (Object.hasOwn(SET, name) ? SET[name] : undefined))

describe("variables in configuration", () => {
  it.each([
    ["nothing to do", "nothing to do"],
    [`\${HOST}:\${PORT:-5432}`, "db:5432"],
    [`[\${EMPTY}]`, "[]"],
    [`[\${EMPTY:-x}]`, "[x]"],
    [`\${NO:-}`, ""],
    [`$$ $\${HOST} $$$$`, `$ \${HOST} $$`],
    [`$$\${HOST}`, "$db"],
    [`\${LOOKS}`, `\${HOST}`],
    [`\${env.KEY} $5 \${} \${1} \${HOST`, `\${env.KEY} $5 \${} \${1} \${HOST`],
  ])("%s becomes %s", (source, expected) => {
    expect(fill(source)).toEqual({ text: expected, missing: [] })
  })

  it("lists every missing variable with its position", () => {
    const source = `a \${ONE} b \${constructor}`
    const { text, missing } = fill(source)
    expect(text).toBe(source)
    expect(missing.map(({ name, start, end }) => [name, source.slice(start, end)])).toEqual([
      ["ONE", `\${ONE}`],
      ["constructor", `\${constructor}`],
    ])
  })
})
