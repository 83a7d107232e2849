import { expect, test } from "vitest"
import { filledAddress } from "./server-address.ts"

const env = { KEY: "s3cret" }
const asksForKey = (name: string) => `Bearer \${env.${name}}`

test("the variables of a program and the headers of a URL are filled from the environment on use", () => {
  const program = { command: "x", env: { TOKEN: asksForKey("KEY"), PLAIN: "a" } }
  expect(filledAddress(program, env)).toEqual({ command: "x", env: { TOKEN: "Bearer s3cret", PLAIN: "a" } })
  const place = { url: "https://h.example", headers: { authorization: asksForKey("KEY") } }
  expect(filledAddress(place, env)).toEqual({ ...place, headers: { authorization: "Bearer s3cret" } })
})

test("so are its command, arguments and folder, and the URL", () => {
  const from = { BIN: "server", HOST: "h.example", DIR: "/srv" }
  const [bin, host, folder] = ["BIN", "HOST", "DIR"].map((name) => `\${env.${name}}`)
  expect(filledAddress({ command: `${bin}`, args: ["--host", `${host}`], cwd: `${folder}` }, from)).toEqual({
    command: "server",
    args: ["--host", "h.example"],
    cwd: "/srv",
  })
  expect(filledAddress({ url: `https://${host}/mcp` }, from)).toEqual({ url: "https://h.example/mcp" })
  expect(() => filledAddress({ url: `${bin}://x` }, from)).toThrow("must start with http")
})

test("a missing variable is reported", () => {
  expect(() => filledAddress({ command: "x", env: { A: asksForKey("NOPE") } }, env)).toThrow("NOPE")
})
