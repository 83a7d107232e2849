import { join } from "node:path"
import { signalTest } from "./signal-suite.ts"

signalTest((folder) => join(folder, "runs.db"))
