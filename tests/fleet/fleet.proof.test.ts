import { join } from "node:path"
import { inject } from "vitest"
import { fleetTest } from "./fleet-suite.ts"

fleetTest(inject("isProof") ? { runs: 150, kills: 12 } : { runs: 30, kills: 2 }, (folder) =>
  join(folder, "runs.db"),
)
