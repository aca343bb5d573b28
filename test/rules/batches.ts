// Rules of handlers that take batches: each job stays a run of its own.
import { unit, type Rule } from './rule.js';

export const BATCHES: readonly Rule[] = [
  {
    rule: 'A job is claimed when its batch begins, and not before: until then it has no lease, and can be revoked, moved or expire.',
    mutants: [
      ...unit('consumer/batch/batches.spec.ts', 'lets a job be revoked', [
        'consumer/batch/batch-queue.ts',
        'if (left > 0) return this.timer.within(left);',
        '',
      ]),
    ],
  },
  {
    rule: 'A batch begins without the jobs that it lost, by a refused claim or before their handler was called.',
    mutants: [
      ...unit('consumer/batch/batches.spec.ts', 'lets a job expire', [
        'consumer/batch/batch-queue.ts',
        `if (claim?.answer.kind !== 'run') this.batches.left(delivery);`,
        '',
      ]),
      ...unit(
        'nest/batch-handlers.spec.ts',
        'gets what the schema makes of the payloads; a refused job is dead, and holds up no other',
        ['consumer/tube-consumer.ts', 'this.batches?.left(delivery);', ''],
      ),
    ],
  },
  {
    rule: 'The outcome of a job in a batch is its own.',
    mutants: [
      ...unit('consumer/batch/batches.spec.ts', 'each with its own retries', [
        'consumer/batch/batches.ts',
        `if ('thrown' in result) all[i]!.fail(result.thrown);`,
        `if ('thrown' in result) failAll(all, result.thrown);`,
      ]),
    ],
  },
  {
    rule: 'An incomplete batch takes a slot of the concurrency, too.',
    mutants: [
      ...unit(
        'consumer/batch/batches.spec.ts',
        'counts batches, even incomplete ones, against its concurrency',
        [
          'consumer/batch/batch-budget.ts',
          'Math.min(super.free, this.batches.free * this.batches.settings.size)',
          'super.free',
        ],
      ),
    ],
  },
];
