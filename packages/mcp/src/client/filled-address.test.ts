import { expect, test } from "vitest"
import { filledAddress } from "./filled-address.ts"

const env = { KEY: "s3cret" }
const asksForKey = (name: string) => `Bearer \${env.${name}}`

test("variables of a program and headers of a place are filled from the environment, when they are needed", () => {
  const program = { command: "x", env: { TOKEN: asksForKey("KEY"), PLAIN: "a" } }
  expect(filledAddress(program, env)).toEqual({ command: "x", env: { TOKEN: "Bearer s3cret", PLAIN: "a" } })
  const place = { url: "https://h.example", headers: { authorization: asksForKey("KEY") } }
  expect(filledAddress(place, env)).toEqual({ ...place, headers: { authorization: "Bearer s3cret" } })
})

test("what the environment has not is named", () => {
  expect(() => filledAddress({ command: "x", env: { A: asksForKey("NOPE") } }, env)).toThrow("NOPE")
})
