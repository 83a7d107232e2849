import { scheduleTest } from "../fleet/schedule-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

scheduleTest(newAddress)
