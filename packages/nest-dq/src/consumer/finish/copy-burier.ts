import { InsistentBatcher } from '../../ledger/batcher.js';
import type { BuriedAnswer } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { CopyDeleter } from './copy-deleter.js';

interface Burial {
  readonly delivery: Delivery;
  /** The node was asked to bury it. */
  readonly asked: boolean;
}

/**
 * Buries the copies of dead jobs. While a copy is in our hand, nobody else can delete it. So the letter may go meanwhile, and
 * whoever discarded or revived it has to leave the copy to us:
 *
 * 1. The letter learns where the copy is. If the process ends now, the copy comes back from its node, and is claimed again.
 * 2. The node buries it.
 * 3. The ledger is asked again ◆. If the letter is there, whoever takes it away from now on knows of the copy and can delete it. If it
 *    is gone, we delete the copy.
 *
 * Only `gone` deletes: it means that a claim of the copy would delete it, too, so it never costs a job its last copy.
 */
export class CopyBurier extends InsistentBatcher<Burial, BuriedAnswer> {
  /** Burials that the nodes have not answered. */
  private open = 0;

  constructor(
    private readonly context: TubeContext,
    private readonly deleter: CopyDeleter,
  ) {
    const { tube, ledger, clock, report } = context;
    super(ledger, clock, {
      call: (burials) => ledger.buried(burials.map(requestOf)),
      answered: (burial, answer) => this.noted(burial, answer),
      trouble: ({ delivery }, error) => report.ledgerTrouble(tube, delivery.header.id, error),
    });
  }

  /** Copies that are not dealt with. */
  override get size(): number {
    return super.size + this.open;
  }

  bury(delivery: Delivery): void {
    this.add({ delivery, asked: false });
  }

  /** The letter knows already where the copy is. */
  buryNoted(delivery: Delivery): void {
    this.open++;
    delivery.bury((asked) => {
      this.open--;
      if (asked) this.add({ delivery, asked });
      else this.context.life.disposed();
    });
  }

  private noted({ delivery, asked }: Burial, answer: BuriedAnswer): void {
    if (answer === 'gone') this.deleter.delete(delivery, false);
    else if (answer === 'dead' && !asked) this.buryNoted(delivery);
    // Redis lost the letter. The next claim decides; what is buried already stays, because the job may have no other copy.
    else if (!asked) delivery.release(0);
    this.context.life.disposed();
  }
}

function requestOf({ delivery }: Burial) {
  const { id, born, generation } = delivery.header;
  return { id, born, generation, places: delivery.places };
}
