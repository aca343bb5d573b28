// What a consumer takes, runs and lets go.
import { contract, server, unit, type Rule } from './rule.js';

export const CONSUMING: readonly Rule[] = [
  {
    rule: 'Nothing is reserved without room for it.',
    mutants: [
      ...unit(
        'consumer/reserve/node.spec.ts',
        'asks for nothing without room, and takes what is there as soon as room opens',
        [
          'consumer/reserve/node.ts',
          'const room = this.taker.room();',
          'const room = Math.max(1, this.taker.room());',
        ],
      ),
      ...unit(
        'consumer/reserve/budget.spec.ts',
        'says none, and not a negative room as something, when more waits than may',
        [
          'consumer/reserve/budget.ts',
          'return had >= this.concurrency && 2 * had > most ? 0 : most - had;',
          'return Math.abs(most - had);',
        ],
      ),
    ],
  },
  {
    rule: 'A connection does not wait while it has a copy of which it asks whose it is.',
    mutants: unit(
      'consumer/reserve/shared-lanes.spec.ts',
      'does not wait on the lane that has the copy, so that what is said of it is heard at once',
      ['consumer/reserve/lane.ts', ' && this.unknown === 0', ''],
    ),
  },
  {
    rule: 'A copy that comes for a tube that has stopped is given back at once.',
    mutants: unit(
      'consumer/reserve/shared-lanes.spec.ts',
      'lets go the copy of a tube that has stopped, for others to take, and asks for no more',
      [
        'consumer/reserve/shared-lanes.ts',
        "else if (stats) lane.putBack(reserved.id, Number(stats['pri']), 0, () => undefined);",
        '',
      ],
    ),
  },
  {
    rule: 'A granted run is begun only while a second of its lease is left, counted from when the claim was sent.',
    mutants: [
      ...unit(
        'consumer/claim/claim-queue.spec.ts',
        'gives it back when the answer took longer',
        [
          'consumer/claim/claim-queue.ts',
          'if (this.clock.now() > usableUntil) this.taker.giveBack(delivery, grant, claimedAt);\n    else this',
          'this',
        ],
        [
          'consumer/claim/claim-queue.ts',
          'sentAt + this.settings.lease - LEASE_RESERVE',
          'sentAt + this.settings.lease',
        ],
        [
          'consumer/claim/claim-queue.ts',
          'const usableUntil = sentAt +',
          'const usableUntil = this.clock.now() +',
        ],
      ),
      ...unit(
        'consumer/claim/claim-queue.spec.ts',
        'does not run what waits in the same answer behind a handler that blocks for the lease',
        [
          'consumer/claim/claim-queue.ts',
          'if (this.clock.now() > usableUntil) this.taker.giveBack(delivery, grant, claimedAt);\n    else this',
          'this',
        ],
      ),
    ],
  },
  {
    rule: 'A claim that is asked again with its token gets the same run again, with the lease renewed.',
    mutants: [
      ...contract(
        'ledger.spec.ts',
        'gives the same fence and attempt to the same token, with a renewed lease',
        [
          'rules/runs.ts',
          'if (running && current && record.token === token &&',
          'if (false && running && current && record.token === token &&',
        ],
        [
          'verbs/claim.ts',
          'if running and current and record.token == token and',
          'if false and running and current and record.token == token and',
        ],
      ),
      ...contract(
        'ledger.spec.ts',
        'gives the same fence and attempt to the same token, with a renewed lease',
        ['rules/runs.ts', 'record.leaseEnd = now + lease;', ''],
        ['verbs/claim.ts', 'record.leaseEnd = now + LEASE', ''],
      ),
      ...unit(
        'consumer/claim/claim-queue.spec.ts',
        'asks again with the same token, keeping its place in the order',
        ['consumer/claim/claim-queue.ts', 'token: delivery.token,', 'token: String(sentAt),'],
      ),
      ...unit('consumer/claim/claim-queue.spec.ts', 'with a token of its own for each delivery', [
        'consumer/reserve/delivery.ts',
        'number = made++;',
        'number = made;',
      ]),
    ],
  },
  {
    rule: 'A copy of a job that runs is let go for a second at least.',
    mutants: unit(
      'consumer/claim/claim-queue.spec.ts',
      'a primary goes for the rest of the lease, %i ms, and at least a second',
      [
        'consumer/claim/claim-queue.ts',
        'Math.max(1, Math.ceil(answer.ms / 1000))',
        'Math.ceil(answer.ms / 1000)',
      ],
    ),
  },
  {
    rule: 'A refused extend ends a run’s right to go on; a ledger that is silent does not.',
    mutants: [
      ...unit('consumer/heartbeat.spec.ts', 'tells which runs were refused, and only those', [
        'consumer/heartbeat.ts',
        `if (answer === 'refused') this.events.lost(run);`,
        `if (answer === 'refused') return;`,
      ]),
      ...unit('consumer/heartbeat.spec.ts', 'takes silence for nothing, and asks again in its time', [
        'consumer/heartbeat.ts',
        'if (this.ledger.away || this.stopped) return;',
        'for (const run of runs) this.events.lost(run);',
      ]),
    ],
  },
  {
    rule: 'A process that cannot reach the ledger for a second reserves nothing more, and lets go at once of what it has not claimed.',
    mutants: [
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'is shut at once when the ledger is away, and suspends after a second',
        ['consumer/ledger-gate.ts', 'this.events.suspend();', ''],
      ),
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'runs nothing, and gives everything to others after a second, at once',
        ['consumer/tube-consumer.ts', 'suspend: () => intake.pause(),', 'suspend: () => undefined,'],
      ),
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'reserves no more, and lets go at once of what an open wait still brings',
        [
          'consumer/reserve/intake.ts',
          'if (this.host.lettingGo) delivery.release(0);\n    else if (early',
          'if (early',
        ],
      ),
    ],
  },
  {
    rule: 'When the ledger is back, a process first tells what it still runs; where that may be forgotten, it claims nothing for two seconds.',
    mutants: [
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'opens two seconds after a ledger is back from %i ms that may have forgotten what runs',
        ['consumer/ledger-gate.ts', 'const BACK_PAUSE = 2_000;', 'const BACK_PAUSE = 0;'],
        ['consumer/ledger-gate.ts', 'this.recovering ||= !sameServer;', ''],
      ),
      ...server('tells whether a server that is back is the same, or was started again', [
        'ledger/redis/master.ts',
        "const isSame = runId !== '' && runId === this.runId;",
        'const isSame = true;',
      ]),
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'tells what it runs first when it is back, claims nothing for two seconds, then goes on',
        ['consumer/tube-consumer.ts', 'this.heartbeat.beat();', ''],
        ['consumer/tube-consumer.ts', 'this.endings.flush();\n        this.heartbeat', 'this.heartbeat'],
      ),
    ],
  },
  {
    rule: 'No lease is taken over that ended while the ledger was away, before others had two seconds to tell what they still run.',
    mutants: [
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'takes over no run of a process that was cut off, too, and comes back a little later',
        [
          'consumer/claim/claim-queue.ts',
          'this.ledger.claim(requests, settled, this.taker.sparedFrom)',
          'this.ledger.claim(requests, settled)',
        ],
      ),
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'is open between short absences, however many, and spares what ended since the first',
        ['consumer/ledger-gate.ts', 'this.troubledFrom ??= heardAt;', 'this.troubledFrom = heardAt;'],
      ),
      ...contract(
        'ledger.spec.ts',
        'spares a run whose lease ended since a given time, and no other',
        ['rules/runs.ts', 'leased >= sparedFrom', 'false'],
        ['verbs/claim.ts', 'leased >= sparedFrom', 'false'],
      ),
    ],
  },
  {
    rule: 'A run that a shutdown gives back does not count as an attempt.',
    mutants: [
      ...contract(
        'ledger.spec.ts',
        'gives an attempt back, and the job is due at once',
        [
          'rules/runs.ts',
          `if (outcome.kind === 'back') record.attempt = Math.max(0, record.attempt - 1);`,
          '',
        ],
        ['verbs/complete.ts', `if kind == 'back' then record.attempt = max(0, record.attempt - 1) end`, ''],
      ),
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'aborts at the limit what still runs, and gives the attempt back',
        [
          'consumer/run/executor.ts',
          'this.end(run, BACK);',
          `this.end(run, { kind: 'retry', delay: 0, error: new Error('drained') });`,
        ],
      ),
      ...unit('consumer/tube-consumer.spec.ts', 'does not count as a failure what its own signal ended', [
        'consumer/run/executor.ts',
        '(this.shuttingDown || run.revoked)',
        'run.revoked',
      ]),
    ],
  },
];
