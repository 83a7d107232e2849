import { join } from "node:path"
import { rateTest } from "./rate-suite.ts"

rateTest((folder) => join(folder, "runs.db"))
