import { join } from "node:path"
import { inject } from "vitest"
import { killTests } from "./kill-suite.ts"

killTests({
  stride: inject("isProof") ? 3 : 13,
  random: inject("isProof") ? 6 : 1,
  addressOf: (folder, name) => join(folder, `${name}.db`),
})
