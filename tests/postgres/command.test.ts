/** The command line on a PostgreSQL store. */
import { expect, inject, test } from "vitest"
import { superstep, testIo } from "../../packages/superstep/src/command/test-io.test-support.ts"
import { newAddress } from "./schemas.test-support.ts"

const PUBLISH = `
workflow:
  - { id: publish, type: human, prompt: "Publish it?", choices: [publish, drop] }
`

/** As the command line takes it. */
function storeUrl(): string {
  return newAddress().replace("#", "?schema=")
}

test("a run starts, waits, is answered and listed in a PostgreSQL store, and no line shows the password", async () => {
  const [store, files] = [storeUrl(), { "publish.yaml": PUBLISH }]
  const started = await superstep(
    ["run", "publish.yaml", "storks", "--run-id", "storks-1", "--store", store],
    testIo({ files }),
  )
  expect(started.code).toBe(3)
  const io = testIo({ files })
  const inbox = await superstep(["inbox", "--store", store], io)
  expect(inbox.stdout).toContain("Publish it?")
  expect(inbox.stdout).toContain("superstep respond storks-1 r1 publish --store")
  await superstep(["respond", "storks-1", "r1", "publish", "--store", store], testIo({ files }))
  await superstep(["runs", "resume", "storks-1", "publish.yaml", "--store", store], testIo({ files }))
  const list = await superstep(["runs", "list", "--store", store], testIo())
  expect(list.stdout).toMatch(/storks-1\s+\S+\s+completed/)
  const doctor = await superstep(["doctor", "--store", store], testIo())
  expect(doctor.stdout).toMatch(/store\s+postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres\?schema=/)
  for (const { stdout, stderr } of [started, inbox, list, doctor])
    expect(stdout + stderr).not.toContain("secret")
})

test("a store that cannot be opened is reported without its password", async () => {
  const wrong = new URL(inject("postgres"))
  wrong.password = "very-secret"
  const refused = await superstep(["runs", "list", "--store", wrong.href], testIo())
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toMatch(/refuses the password/)
  const unknown = await superstep(["runs", "list", "--store", "mysql://me:very-secret@host/db"], testIo())
  expect(unknown.stderr).toContain('Unknown store "mysql://me@host/db"')
  const salvage = await superstep(["runs", "salvage", "--store", wrong.href, "--to", "x.db"], testIo())
  expect(salvage.stderr).toContain("Only a SQLite file can be salvaged")
  for (const { stdout, stderr } of [refused, unknown, salvage])
    expect(stdout + stderr).not.toContain("very-secret")
})
