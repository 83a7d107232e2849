import { join } from "node:path"
import { twoServersTests } from "./two-servers-suite.ts"

twoServersTests((folder) => join(folder, "runs.db"))
