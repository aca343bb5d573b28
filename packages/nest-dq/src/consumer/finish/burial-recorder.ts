import { InsistentBatcher } from '../../ledger/insistent-batcher.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';

/** Tells the ledger where copies of dead jobs were buried, so that their letters can be read, revived and discarded. */
export class BurialRecorder extends InsistentBatcher<Delivery, unknown> {
  constructor({ tube, ledger, clock, report }: TubeContext, answered: () => void) {
    super(ledger, clock, {
      call: async (deliveries) => {
        await ledger.buried(deliveries.map(({ header: { id, born }, places }) => ({ id, born, places })));
        return deliveries;
      },
      answered,
      trouble: ({ header }, error) => report.ledgerTrouble(tube, header.id, error),
    });
  }
}
