import { twoServersTests } from "../server/two-servers-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

twoServersTests(() => newAddress())
