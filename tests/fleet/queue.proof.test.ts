import { join } from "node:path"
import { queueTest } from "./queue-suite.ts"

queueTest((folder) => join(folder, "runs.db"))
