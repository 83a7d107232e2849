import { join } from "node:path"
import { killTests, proofCounts } from "./kill-suite.ts"

killTests({
  ...proofCounts({ stride: 23, random: 1 }),
  addressOf: (folder, name) => join(folder, `${name}.db`),
})
