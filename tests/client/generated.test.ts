/** The client has the types of the server's routes and of the engine's events, and is small. */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { gzipSync } from "node:zlib"
import type { RunEvent } from "@superstep/client"
import { build } from "esbuild"
import type { RunEvent as EngineEvent } from "superstep/protocol"
import { expect, test } from "vitest"
import { clientTypes, openApi } from "../../scripts/client-types.mjs"

const root = resolve(import.meta.dirname, "../..")
const MAX_BYTES = 8 * 1_024

test("the types of the client are those of the routes and the events: run `npm run client:types`", async () => {
  const document = await openApi()
  for (const [path, text] of clientTypes(document)) expect(readFileSync(path, "utf8"), path).toBe(text)
})

test("a route that is added or changed changes the types", async () => {
  const document = await openApi()
  const current = [...clientTypes(document).values()].join()
  const added = structuredClone(document)
  added.paths["/v1/new"] = { get: { responses: { 200: { description: "" } } } }
  expect([...clientTypes(added).values()].join()).not.toBe(current)
  const changed = structuredClone(document)
  changed.components.schemas.Run.properties.status.enum.push("other")
  expect([...clientTypes(changed).values()].join()).not.toBe(current)
})

test("an event of the engine is one of the client's, type by type", () => {
  const same = (event: EngineEvent): RunEvent => event
  const type: EngineEvent["type"] extends RunEvent["type"] ? RunEvent["type"] : never =
    "run.started" satisfies EngineEvent["type"]
  expect(same.length).toBe(1)
  expect(type).toBe("run.started")
})

test.each(["index", "watch"])("the entry %s has at most 8 KB, minified and compressed", async (entry) => {
  const { outputFiles } = await build({
    entryPoints: [join(root, "packages", "client", "src", `${entry}.ts`)],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    conditions: ["@superstep/source"],
    write: false,
  })
  expect(gzipSync(outputFiles[0]?.contents as Uint8Array).length).toBeLessThanOrEqual(MAX_BYTES)
})

test("the client depends on nothing", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "packages/client/package.json"), "utf8"))
  expect(dependencies).toBeUndefined()
})
