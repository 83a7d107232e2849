import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { restoreTest } from "./restore-suite.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-restore-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

restoreTest({
  how: "VACUUM INTO",
  newAddress: () => join(folder, "runs.db"),
  restored(address) {
    const Database = createRequire(import.meta.resolve("@superstep/store-sqlite"))("libsql")
    const database = new Database(address)
    const backup = join(folder, "backup.db")
    database.exec(`VACUUM INTO '${backup}'`)
    database.close()
    return backup
  },
})
