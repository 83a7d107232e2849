import { rollingTests } from "../client/rolling-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

rollingTests(() => newAddress())
