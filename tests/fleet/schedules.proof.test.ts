import { join } from "node:path"
import { scheduleTest } from "./schedule-suite.ts"

scheduleTest((folder) => join(folder, "runs.db"))
