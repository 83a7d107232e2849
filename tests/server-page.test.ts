/** The pages of the server: their commands are run against the server that they start, and the route handler is called. */
import { execFile } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, onTestFinished, test } from "vitest"
import { superstep, testIo } from "../packages/superstep/src/command/test-io.test-support.ts"
import { type Block, blocksOf, root, writeBlock } from "./doc-blocks.test-support.ts"

const PAGES = ["docs/server.md", "docs/server-definitions.md", "docs/protocols.md"]
const SHOWN_ADDRESS = "http://127.0.0.1:4111"

interface Call {
  readonly command: string
  readonly prints: string
}

function callsIn(blocks: readonly Block[]): readonly Call[] {
  return blocks
    .filter(({ kind }) => kind === "console")
    .flatMap(({ text }) => text.split(/^\$ /m).slice(1))
    .map((part): Call => {
      const end = part.indexOf("\n")
      return { command: part.slice(0, end), prints: part.slice(end + 1).trimEnd() }
    })
}

/** `…` stands for any text. */
function matching(shown: string): RegExp {
  const parts = shown.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
  return new RegExp(`^${parts.join("[^]*?")}$`)
}

test.each(PAGES)("the curl commands print what %s says", { timeout: 60_000 }, async (page) => {
  const blocks = blocksOf(page)
  const calls = callsIn(blocks)
  const io = testIo()
  for (const block of blocks) if (block.file !== undefined) writeBlock(block, join(io.cwd, block.file))
  const [, files = ""] =
    /^superstep serve (.*)$/m.exec(blocks.find(({ kind }) => kind === "sh")?.text ?? "") ?? []
  const ended = superstep(["serve", ...files.split(" "), "--port", "0", "--json"], io)
  await Promise.race([io.seen('"type":"listening"'), ended])
  const [, url = io.written.stderr] = /"url":"([^"]+)"/.exec(io.written.stdout) ?? []
  expect(calls.length).toBeGreaterThan(3)
  for (const { command, prints } of calls) {
    const actual = command.replaceAll(SHOWN_ADDRESS, url)
    const { stdout } = await promisify(execFile)("bash", ["-c", actual], { cwd: io.cwd })
    expect(stdout.trimEnd(), command).toMatch(matching(prints))
  }
  io.interrupt()
  expect((await ended).code).toBe(0)
})

test("the route handler for Next.js starts a run under its path", async () => {
  const code =
    blocksOf("docs/server.md").find(({ kind, text }) => kind === "ts" && text.includes("GET as POST"))
      ?.text ?? ""
  const folder = join(root, "tests", ".server-page")
  mkdirSync(folder, { recursive: true })
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, "route.ts"), code)
  const route = (await import(/* @vite-ignore */ join(folder, "route.ts"))) as Record<
    string,
    (request: Request) => Promise<Response>
  >
  const request = new Request("http://localhost:3000/api/v1/workflows/greet/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"input":"Ada"}',
  })
  expect(await (await route.POST?.(request))?.json()).toMatchObject({ outputs: ["Hello Ada"] })
})
