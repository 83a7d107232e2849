import { join } from "node:path"
import { slotTest } from "./slot-suite.ts"

slotTest((folder) => join(folder, "runs.db"))
