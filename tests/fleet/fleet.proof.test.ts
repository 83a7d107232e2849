import { join } from "node:path"
import { inject } from "vitest"
import { fleetTest } from "./fleet-suite.ts"

fleetTest(inject("isProof") ? { runs: 150, kills: 12 } : { runs: 60, kills: 4 }, (folder) =>
  join(folder, "runs.db"),
)
