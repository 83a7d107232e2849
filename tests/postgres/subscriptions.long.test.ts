import { subscriptionTests } from "../fleet/subscription-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

subscriptionTests(newAddress)
