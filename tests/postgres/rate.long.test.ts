import { rateTest } from "../fleet/rate-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

rateTest(newAddress)
