import type { TubeLedger } from '../../ledger/ledger.js';
import type { Clock } from '../../time/clock.js';
import type { Delivery } from '../reserve/delivery.js';
import { InsistentCalls, type InsistentEvents } from './insistent-calls.js';

/** Tells the ledger where copies of dead jobs were buried, so that their letters can be read, revived and discarded. */
export class Burials extends InsistentCalls<Delivery, unknown> {
  constructor(ledger: TubeLedger, clock: Clock, events: InsistentEvents<Delivery, unknown>) {
    const call = async (deliveries: readonly Delivery[]) => {
      await ledger.buried(deliveries.map(({ header: { id, born }, places }) => ({ id, born, places })));
      return deliveries;
    };
    super(ledger, clock, call, events);
  }
}
