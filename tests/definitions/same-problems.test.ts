/** The command line and the server report what the TypeScript API reports: the same problems, places and suggestions. */
import { loadDefinition } from "@superstep/engine/definitions"
import { expect, test } from "vitest"
import { MISTAKES } from "../../packages/engine/src/definitions/mistakes.test-support.ts"
import { served } from "../../packages/server/src/serve.test-support.ts"
import { superstep } from "../../packages/superstep/src/command/test-io.test-support.ts"

const env = { OPENAI_API_KEY: "x", OWN_KEY: "x" }

/** The engine tests all of them. */
const SOME = MISTAKES.filter((_, i) => i % 4 === 0)

/** As both print them. */
function problemsOf(text: string) {
  return loadDefinition({ file: "a.yaml", text }, { env }).diagnostics.map(
    ({ severity, code, message, place, suggestion }) => ({
      severity,
      code,
      message,
      line: place?.line,
      column: place?.column,
      ...(suggestion !== undefined && { suggestion }),
    }),
  )
}

test("superstep validate --json", async () => {
  const files = Object.fromEntries(SOME.map(({ text }, i) => [`${i}.yaml`, text]))
  const { stdout } = await superstep(["validate", ...Object.keys(files), "--json"], { files, env })
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(lines).toEqual(
    SOME.flatMap(({ text }, i) =>
      problemsOf(text).map((one) => expect.objectContaining({ file: `${i}.yaml`, ...one })),
    ),
  )
})

test("POST /v1/definitions/validate", async () => {
  const server = served()
  const key = await server.key({ role: "author" })
  // The others have schedules and files, which the server refuses as well.
  const graphs = SOME.filter(({ name }) => /^(rows|executor):/.test(name))
  for (const { text } of graphs) {
    const response = await server.ask("POST", "/v1/definitions/validate", { key, body: { text } })
    expect(await response.json()).toMatchObject({ valid: false, diagnostics: problemsOf(text) })
  }
})
