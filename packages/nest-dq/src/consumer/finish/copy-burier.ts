// ◆ marks a rule of docs/internals/delivery.md.
import { RetryingBatcher } from '../../ledger/batcher.js';
import type { BuriedAnswer } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { CopyDeleter } from './copy-deleter.js';

interface Burial {
  readonly delivery: Delivery;
  /** Whether the node was asked to bury it. */
  readonly asked: boolean;
}

/**
 * Buries the copies of dead jobs. While this process holds a copy, nobody else can delete it. If the letter is discarded or
 * revived in the meantime, deleting the copy is left to this process:
 *
 * 1. The place of the copy is recorded in the letter. If the process dies now, the copy becomes ready on its node again and is
 *    claimed again.
 * 2. The node buries it.
 * 3. The ledger is asked again ◆. If the letter still exists, whoever removes it later knows about the copy and can delete it. If
 *    it is gone, this process deletes the copy.
 *
 * Only `gone` deletes: a claim of the copy would delete it too, so this never costs a job its last copy.
 */
export class CopyBurier extends RetryingBatcher<Burial, BuriedAnswer> {
  /** Number of burials that the nodes haven't answered. */
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

  /** Number of copies not settled yet. */
  override get size(): number {
    return super.size + this.open;
  }

  bury(delivery: Delivery): void {
    this.add({ delivery, asked: false });
  }

  /** Buries a copy whose place the letter already knows. */
  buryNoted(delivery: Delivery): void {
    this.open++;
    delivery.bury((asked) => {
      this.open--;
      if (asked) this.add({ delivery, asked });
      else this.context.life.copyGone();
    });
  }

  private noted({ delivery, asked }: Burial, answer: BuriedAnswer): void {
    if (answer === 'gone') this.deleter.delete(delivery, false);
    else if (answer === 'dead' && !asked) this.buryNoted(delivery);
    // Redis lost the letter. The next claim decides; an already buried copy stays, because it may be the job's only one.
    else if (!asked) delivery.release(0);
    this.context.life.copyGone();
  }
}

function requestOf({ delivery }: Burial) {
  const { id, born, generation } = delivery.header;
  return { id, born, generation, places: delivery.places };
}
