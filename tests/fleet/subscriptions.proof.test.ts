import { join } from "node:path"
import { subscriptionTests } from "./subscription-suite.ts"

subscriptionTests((folder, name) => join(folder, `${name}.db`))
