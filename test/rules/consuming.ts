// Rules of a consumer: what it reserves, runs and releases.
import { contract, server, unit, type Rule } from './rule.js';

export const CONSUMING: readonly Rule[] = [
  {
    rule: 'Nothing is reserved without room for it.',
    mutants: [
      ...unit(
        'consumer/reserve/consumer-node.spec.ts',
        'asks for nothing without room, and takes what is there as soon as room opens',
        [
          'consumer/reserve/consumer-node.ts',
          'const room = this.taker.room();',
          'const room = Math.max(1, this.taker.room());',
        ],
      ),
      ...unit(
        'consumer/reserve/shared-lanes-busy.spec.ts',
        'reserves nothing without room for a tube that got no lane, and resumes as soon as there is some',
        ['consumer/reserve/consumer-node.ts', '(this.own.paused || this.own.crowdedOut)', 'this.own.paused'],
      ),
      ...unit(
        'consumer/reserve/reserve-budget.spec.ts',
        'says none, and not a negative room as something, when more waits than may',
        [
          'consumer/reserve/reserve-budget.ts',
          'return had >= this.concurrency && 2 * had > most ? 0 : most - had;',
          'return Math.abs(most - had);',
        ],
      ),
    ],
  },
  {
    rule: 'A process holds no more early copies than its handlers can run, and keeps looking for what is urgent.',
    mutants: [
      ...unit(
        'consumer/early-copies.spec.ts',
        'are left to other processes while they are early',
        ['consumer/reserve/reserver.ts', 'budget.mostEarly - claims.early - asked', 'Infinity'],
        [
          'consumer/reserve/consumer-node.ts',
          'if (this.accept(lane, reserved) && this.taker.holdsEnoughEarly) this.rest();',
          'this.accept(lane, reserved);',
        ],
      ),
      ...unit(
        'consumer/early-copies.spec.ts',
        'keep no job waiting that is due in the second before theirs',
        ['consumer/reserve/reserver.ts', 'Math.max(1, budget.mostEarly', 'Math.max(0, budget.mostEarly'],
      ),
    ],
  },
  {
    rule: 'A copy goes to the handler of its own tube, whichever tubes the connection waits for.',
    mutants: unit(
      'consumer/reserve/shared-lanes.spec.ts',
      'gives each copy to its tube at once, and waits on',
      ['consumer/reserve/lane.ts', 'this.watched.size === 1', 'this.watched.size > 0'],
    ),
  },
  {
    rule: 'A connection does not wait while it asks for the tube of a copy that it has reserved.',
    mutants: unit(
      'consumer/reserve/lane.spec.ts',
      'is not idle while it asks for the tube of a copy that it has reserved',
      ['consumer/reserve/lane.ts', ' && this.unknown === 0', ''],
    ),
  },
  {
    rule: 'A shared connection is asked for nothing while a question has no reply: it could wait, and not hear what it then holds.',
    mutants: unit(
      'consumer/reserve/shared-lanes.spec.ts',
      'asks nothing of a lane whose question has no reply: it could wait, and not hear what it then holds',
      ['consumer/reserve/shared-lanes.ts', 'if (this.asking) return true;', ''],
    ),
  },
  {
    rule: 'A tube that reserves is waited for, even if it stopped and resumed before, or if other tubes have all lanes.',
    mutants: [
      ...unit(
        'consumer/reserve/shared-lanes.spec.ts',
        'waits again for a tube that left before a wait began for it',
        ['consumer/reserve/shared-lanes.ts', 'this.urgent.delete(tube);', ''],
      ),
      ...unit(
        'consumer/reserve/shared-lanes-busy.spec.ts',
        'resumes a tube that became busy without room, and whose lanes others have taken meanwhile',
        ['consumer/reserve/consumer-node.ts', 'if (this.own.crowdedOut) this.busy = false;', ''],
      ),
    ],
  },
  {
    rule: 'A copy that comes for a tube that has stopped is released at once.',
    mutants: unit(
      'consumer/reserve/shared-lanes.spec.ts',
      'releases the copy of a tube that has stopped, for others to take, and asks for no more',
      [
        'consumer/reserve/shared-lanes.ts',
        "else if (stats) lane.releaseReserved(reserved.id, Number(stats['pri']), 0, () => undefined);",
        '',
      ],
    ),
  },
  {
    rule: 'A granted run is begun only while a second of its lease is left, counted from when the claim was sent.',
    mutants: [
      ...unit(
        'consumer/tube-consumer.spec.ts',
        '%s was granted %i ms ago when the answer comes',
        ['consumer/tube-consumer.ts', 'tooLate || this', 'this'],
        ['consumer/run/run.ts', 'sent.at + lease - LEASE_RESERVE', 'sent.at + lease'],
        [
          'consumer/tube-consumer.ts',
          'new Run(delivery, grant, sent, context)',
          'new Run(delivery, grant, { ...sent, at: context.clock.now() }, context)',
        ],
      ),
      ...unit(
        'consumer/tube-consumer.spec.ts',
        'under another grant, as the same attempt, after waiting for a handler that blocked for almost a lease',
        ['consumer/tube-consumer.ts', 'tooLate || this', 'this'],
      ),
    ],
  },
  {
    rule: 'A claim that is asked again with its token gets the same run again, with the lease renewed.',
    mutants: [
      ...contract(
        'ledger-claims.spec.ts',
        'gives the same fence and attempt to the same token, with a renewed lease',
        [
          'runs/runs.rule.ts',
          'if (running && current && record.token === token &&',
          'if (false && running && current && record.token === token &&',
        ],
        [
          'runs/claim.lua.ts',
          'if running and current and record.token == token and',
          'if false and running and current and record.token == token and',
        ],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'gives the same fence and attempt to the same token, with a renewed lease',
        ['runs/runs.rule.ts', 'record.leaseEnd = now + lease;', ''],
        ['runs/claim.lua.ts', 'record.leaseEnd = now + LEASE', ''],
      ),
      ...unit(
        'consumer/claim/claim-queue.spec.ts',
        'asks again with the same token, keeping its place in the order, and not about what was lost meanwhile',
        ['consumer/claim/claim-queue.ts', '      token,\n', '      token: String(Math.random()),\n'],
      ),
      ...unit('consumer/claim/claim-queue.spec.ts', 'with a token of its own for each delivery', [
        'consumer/reserve/delivery.ts',
        'number = made++;',
        'number = made;',
      ]),
    ],
  },
  {
    rule: 'A copy of a running job is released with a delay of at least a second.',
    mutants: unit(
      'consumer/claim/pauses.spec.ts',
      'a primary is released for the rest of the lease, %i ms, and at least a second',
      ['consumer/claim/claim-queue.ts', 'Math.max(1, Math.ceil(ms / 1000))', 'Math.ceil(ms / 1000)'],
    ),
  },
  {
    rule: 'A refused extend ends a run’s right to continue; a silent ledger does not.',
    mutants: [
      ...unit('consumer/heartbeat.spec.ts', 'reports which runs were refused, and only those', [
        'consumer/heartbeat.ts',
        `if (answer === 'refused') loseLease(this.context, run);`,
        `if (answer === 'refused') return;`,
      ]),
      ...unit('consumer/heartbeat.spec.ts', 'ignores silence, and asks again in its time', [
        'consumer/heartbeat.ts',
        'unanswered: () => undefined,',
        'unanswered: (runs) => runs.forEach((run) => loseLease(context, run)),',
      ]),
    ],
  },
  {
    rule: 'A process that cannot reach the ledger for a second reserves nothing more, and releases at once what it has not claimed.',
    mutants: [
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'is shut at once when the ledger is away, and suspends after a second',
        [
          'consumer/ledger-gate.ts',
          "this.cutOff = true;\n      this.listener?.gateChanged('suspended');",
          'this.cutOff = true;',
        ],
      ),
      ...[
        'runs nothing, and releases everything to others at once after a second',
        'reserves no more, and releases at once what an open wait still brings',
      ].flatMap((title) =>
        unit('consumer/tube-consumer-ledger.spec.ts', title, [
          'consumer/reserve/reserver.ts',
          'return this.stopped || this.context.gate.suspended;',
          'return this.stopped;',
        ]),
      ),
    ],
  },
  {
    rule: 'When the ledger is back, a process first reports what it still runs; where that may be forgotten, it claims nothing for two seconds.',
    mutants: [
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'opens two seconds after a ledger is back from %i ms that may have forgotten what runs',
        ['consumer/ledger-gate.ts', 'const BACK_PAUSE_MS = 2_000;', 'const BACK_PAUSE_MS = 0;'],
        ['consumer/ledger-gate.ts', 'this.recovering ||= !sameServer;', ''],
      ),
      ...server(
        'redis-connection.spec.ts',
        'reports whether a server that is back is the same, or was started again',
        [
          'ledger/redis/master.ts',
          "const isSame = runId !== '' && runId === this.runId;",
          'const isSame = true;',
        ],
      ),
      ...unit(
        'consumer/tube-consumer-ledger.spec.ts',
        'reports its runs first when it is back, claims nothing for two seconds, then resumes',
        ['consumer/tube-consumer.ts', 'return this.heartbeat.beat();', 'return;'],
        ['consumer/tube-consumer.ts', 'this.flush();\n        return', 'return'],
      ),
    ],
  },
  {
    rule: 'A lease that ended while the ledger was away is not taken over before others had two seconds to report what they still run.',
    mutants: [
      ...unit(
        'consumer/tube-consumer-ledger.spec.ts',
        'takes over no run of a process that was cut off, too, and comes back a little later',
        ['consumer/claim/claim-queue.ts', 'sparedFrom: gate.sparedFrom, ', ''],
      ),
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'is open between short absences, however many, and spares what ended since the first',
        ['consumer/ledger-gate.ts', 'this.sparedFrom ??= heardAt;', 'this.sparedFrom = heardAt;'],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'spares a run whose lease ended since a given time, and no other',
        ['runs/runs.rule.ts', 'leased >= sparedFrom', 'false'],
        ['runs/claim.lua.ts', 'leased >= sparedFrom', 'false'],
      ),
    ],
  },
  {
    rule: 'A run that a shutdown hands back does not count as an attempt.',
    mutants: [
      ...contract(
        'ledger-runs.spec.ts',
        'gives an attempt back, and the job is due at once',
        ['runs/runs.rule.ts', 'record.attempt = Math.max(0, record.attempt - 1);', ''],
        ['runs/complete.lua.ts', 'record.attempt = max(0, record.attempt - 1)', ''],
      ),
      ...unit(
        'consumer/tube-consumer-stop.spec.ts',
        'aborts at the limit what still runs, and hands the attempt back',
        [
          'consumer/run/executor.ts',
          'this.end(run, BACK);',
          `this.end(run, { kind: 'retry', delay: 0, error: new Error('drained') });`,
        ],
      ),
      ...unit(
        'consumer/tube-consumer-stop.spec.ts',
        'does not count as a failure what its own signal ended',
        ['consumer/run/executor.ts', '(this.shuttingDown || run.revoked)', 'run.revoked'],
      ),
    ],
  },
  {
    rule: 'A run that is handed back keeps its due time: one occurrence has one.',
    mutants: [
      ...contract(
        'ledger-runs.spec.ts',
        'keeps the due time of a run that is handed back, however often',
        ['runs/runs.rule.ts', 'surfaces = time.now;', 'surfaces = record.due = time.now;'],
        ['runs/complete.lua.ts', 'surfaces = now\n', 'surfaces = now\n      record.due = now\n'],
      ),
    ],
  },
];
