import { join } from "node:path"
import { rollingTests } from "./rolling-suite.ts"

rollingTests((folder) => join(folder, "runs.db"))
