// Which generation of a job counts: what the ledger says to commits, revokes and the claims of replaced ones.
import { contract, inRedisOnly, unit, type Rule } from './rule.js';

const FLOOR_IN_MEMORY = 'byKey ? Math.max(committed, opened, floor, now) : Math.max(floor, committed)';
const FLOOR_IN_REDIS = 'born and max(record.floor, committed) or max(committed, opened, record.floor, now)';

export const SCHEDULES: readonly Rule[] = [
  {
    rule: 'A commit decides: it is refused where a newer generation, a revoke, an abort or onDuplicate came before, and then no claim may adopt it.',
    mutants: [
      ...contract(
        'ledger-commits.spec.ts',
        'is refused once a newer generation was committed, and names that generation',
        [
          'records/job-record.ts',
          "return generation < record.committed ? 'changed' : undefined;",
          'return undefined;',
        ],
        [
          'schedules/generations.lua.ts',
          "return generation < record.committed and 'changed' or nil",
          'return nil',
        ],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused by a revoke that came after the opening',
        ['records/job-record.ts', `if (generation <= record.floor) return 'revoked';`, ''],
        ['schedules/generations.lua.ts', `if generation <= record.floor then return 'revoked' end`, ''],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'lets an opened generation never run, and its key be as before',
        ['records/job-record.ts', "if (isAborted(record, generation)) return 'changed';", ''],
        ['schedules/generations.lua.ts', "if isAborted(record, generation) then return 'changed' end", ''],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'lets an opened generation never run, and its key be as before',
        [
          'records/job-record.ts',
          'if (generation < committed || isAborted(record, generation))',
          'if (generation < committed)',
        ],
        [
          'records/record.lua.ts',
          'if generation < committed or isAborted(record, generation) then',
          'if generation < committed then',
        ],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused once a newer generation was committed, and names that generation',
        [
          'records/job-record.ts',
          'if (generation < committed || isAborted(record, generation))',
          'if (isAborted(record, generation))',
        ],
        [
          'records/record.lua.ts',
          'if generation < committed or isAborted(record, generation) then',
          'if isAborted(record, generation) then',
        ],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused by %s if another came before, and gives up',
        ['schedules/schedules.rule.ts', 'lost ? undefined : refusal(record, opening, now)', 'undefined'],
        ['schedules/commit.lua.ts', 'or not lost and refusal(record, opening) or nil', 'or nil'],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused from then on, and never runs: %s',
        ['schedules/schedules.rule.ts', "isForgotten ? 'forgotten' : lost", 'lost'],
        ['schedules/commit.lua.ts', "forgotten and 'forgotten' or", ''],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'counts as long as no claim can have decided otherwise',
        ['schedules/schedules.rule.ts', 'now >= undecidedUntil && ', ''],
        ['schedules/commit.lua.ts', 'now >= undecidedUntil and ', ''],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is no matter for those that are open, however many',
        ['schedules/schedules.rule.ts', 'if (record.firstOpened < 0) record.firstOpened = opened;', ''],
        ['schedules/open.lua.ts', 'then record.first = record.opened end', 'then end'],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused from then on, and never runs: %s',
        ['schedules/aborted.rule.ts', 'generation >= firstOpened(record) && generation', 'generation'],
        ['records/record.lua.ts', 'generation >= firstOpened(record) and generation', 'generation'],
      ),
      ...unit(
        'producer/add-with-key-failing.spec.ts',
        'is reported as indeterminate where Redis lost its opening, and %s',
        ['producer/generations.ts', 'Math.min(own, replaced.due)', 'own'],
        ['producer/generations.ts', 'Math.max(due, generation + YOUNG_MS)', 'Infinity'],
      ),
      ...unit(
        'producer/add-with-key-failing.spec.ts',
        'is added although Redis lost its opening, as long as no run can have begun',
        ['producer/generations.ts', 'return first - AHEAD_MS;', 'return 0;'],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'is refused by %s if another came before, and gives up',
        ['schedules/schedules.rule.ts', 'now);\n    giveUp(record, request);', 'now);'],
        ['schedules/commit.lua.ts', 'giveUp(record, generation, due, announced, mask, unknown)', ''],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'finds it committed by a claim, and says where the copies are',
        ['schedules/schedules.rule.ts', 'if (record.committed === generation) {', 'if (false) {'],
        ['schedules/commit.lua.ts', 'if record.committed == generation then', 'if false then'],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'waits while its commit may still come, and asks again soon',
        ['runs/runs.rule.ts', 'if (generation > committed && age < YOUNG_MS) {', 'if (false) {'],
        ['runs/claim.lua.ts', 'if generation > committed and age < YOUNG then', 'if false then'],
      ),
    ],
  },
  {
    rule: 'The grant of a run aborts what was opened before it and never committed: its process may be gone, and both schedules would run. A caller that is alive stores it again.',
    mutants: [
      ...contract(
        'ledger-granted.spec.ts',
        'never runs, nor can it be committed, when that run %s',
        ['runs/runs.rule.ts', 'abortOpened(next, committed);', ''],
        ['runs/claim.lua.ts', '  abortOpened(record, committed)\n', ''],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'was not revoked by a later revoke of the key, so that its caller stores it again',
        [
          'records/job-record.ts',
          "if (isAborted(record, generation)) return 'changed';\n  if (generation <= record.floor) return 'revoked';",
          "if (generation <= record.floor) return 'revoked';\n  if (isAborted(record, generation)) return 'changed';",
        ],
        [
          'schedules/generations.lua.ts',
          "if isAborted(record, generation) then return 'changed' end\n  if generation <= record.floor then return 'revoked' end",
          "if generation <= record.floor then return 'revoked' end\n  if isAborted(record, generation) then return 'changed' end",
        ],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'A generation that was taken back stays so over a grant that knows nothing of its opening',
        ['schedules/aborted.rule.ts', 'dropAborted(record, from, opened);', 'record.aborted = [];'],
        ['records/record.lua.ts', 'dropAborted(record, from, opened)', 'record.aborted = nil'],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'that was taken back before others were opened never runs, whichever of them does',
        ['schedules/aborted.rule.ts', '    { from: range.from, to: Math.min(range.to, from - 1) },\n', ''],
        ['records/record.lua.ts', '    keep(aborted[i], math.min(aborted[i + 1], from - 1))\n', ''],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'never runs after an older one was granted, although another one was opened after it',
        ['schedules/aborted.rule.ts', 'before < 0 ? firstOpened(record) : 0', 'before < 0 ? opened : 0'],
        ['records/record.lua.ts', 'before < 0 and firstOpened(record) or 0', 'before < 0 and opened or 0'],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'still runs after an add of its key that failed',
        ['schedules/aborted.rule.ts', 'before < 0 ? firstOpened(record) : 0', '0'],
        ['records/record.lua.ts', 'before < 0 and firstOpened(record) or 0', '0'],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'cannot be committed once all its copies were deleted',
        ['records/owed-copies.rule.ts', '  abortOpened(record, record.committed);\n', ''],
        ['records/owed-copies.lua.ts', '  abortOpened(record, record.committed)\n', ''],
      ),
      ...contract(
        'ledger-granted.spec.ts',
        'is kept for a copy of theirs of unknown fate that their process reports only then',
        ['records/job-record.ts', 'if (owed.unknown) lose(record, due);', ''],
        ['schedules/generations.lua.ts', 'if unknown == 1 then lose(record, due) end\n    return', 'return'],
      ),
      ...unit(
        'producer/add-with-key-at-once.spec.ts',
        'is stored again where the job was not there yet when it was opened',
        ['producer/job-adder.ts', 'present.generation > stored.generation &&', ''],
      ),
    ],
  },
  {
    rule: 'A generation that a claim may have run is distinguished from one that certainly gave way, or was taken back.',
    mutants: [
      ...contract(
        'ledger-commits.spec.ts',
        'that comes late, and after a newer one, knows that a claim may have been faster',
        ['schedules/schedules.rule.ts', "counted ? 'overtaken' : why", 'why'],
        ['schedules/commit.lua.ts', "then why = 'overtaken' end", 'then end'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'comes too late once a newer one is committed before which a claim may have been faster',
        [
          'schedules/schedules.rule.ts',
          ' || mayHaveCounted(record, generation, time.now)) return',
          ') return',
        ],
        ['schedules/abort.lua.ts', ' or mayHaveCounted(record, generation) then return', ' then return'],
      ),
      ...contract(
        'ledger-revoke.spec.ts',
        'returns whether a run was begun, whatever became of it',
        [
          'schedules/schedules.rule.ts',
          'const begun = record.fence > 0;',
          'const begun = record.attempt > 0;',
        ],
        ['schedules/revoke.lua.ts', 'local begun = record.fence > 0', 'local begun = record.attempt > 0'],
      ),
      ...unit(
        'producer/add-on-too-few-nodes.spec.ts',
        'says so too when a run of it has failed, and it waits for a retry',
        ['producer/job-adder.ts', 'if (answer.begun) return', 'if (!answer) return'],
      ),
      ...unit(
        'producer/add-on-too-few-nodes.spec.ts',
        'says so too when every copy could be deleted, but had the time to run before',
        ['producer/job-adder.ts', 'if (deleted && this.noneSurfaced(places, begunAt)) {', 'if (deleted) {'],
      ),
      ...unit(
        'producer/add-with-key-failing.spec.ts',
        'does not say that another job was kept when its own ran, adopted by a claim: %s, %s',
        ['producer/job-adder.ts', "return why === 'overtaken' ? overtaken(", 'return !why ? overtaken('],
      ),
      ...unit(
        'producer/add-with-key-failing.spec.ts',
        'has its own receipt when its commit got no answer, and another add came before it was asked again',
        [
          'producer/generations.ts',
          'return tries > 1 ? ofRepeat(answer, request) : answer;',
          'return answer;',
        ],
      ),
      ...unit(
        'producer/reschedule-at-once.spec.ts',
        'and has run what was moved, and added the key: it was moved all the same: %s',
        [
          'producer/job-mover.ts',
          "if (answer.kind === 'committed' || answer.why === 'overtaken') return undefined;",
          "if (answer.kind === 'committed') return undefined;",
        ],
      ),
    ],
  },
  {
    rule: 'A replaced run holds its successor back until it ends, whatever it ends with, or its lease does.',
    mutants: [
      ...contract(
        'ledger-hold.spec.ts',
        'holds its successor back until it ends',
        [
          'schedules/schedules.rule.ts',
          'if (runs) record.holdEnd = Math.max(record.holdEnd, record.leaseEnd);',
          '',
        ],
        ['schedules/commit.lua.ts', 'record.holdEnd = max(record.holdEnd, record.leaseEnd)', ''],
      ),
      ...contract(
        'ledger-hold.spec.ts',
        'holds its successor back until it ends',
        ['runs/runs.rule.ts', 'record.holdEnd = 0;', ''],
        ['runs/complete.lua.ts', 'record.holdEnd, record.abort = nil, nil', 'record.abort = nil'],
      ),
      ...contract(
        'ledger-hold.spec.ts',
        'only ends its hold by %s',
        ['runs/runs.rule.ts', 'if (generation < record.committed) {', 'if (false) {'],
        ['runs/complete.lua.ts', 'if generation < record.committed then', 'if false then'],
      ),
      ...contract(
        'ledger-hold.spec.ts',
        'keeps holding it back while it extends, even after a second replacement',
        ['runs/runs.rule.ts', 'record.holdEnd = leaseEnd;', ''],
        ['runs/extend.lua.ts', 'record.holdEnd = now + LEASE', ''],
      ),
    ],
  },
  {
    rule: 'A revoke by key voids every generation opened before it; one by a receipt only its own.',
    mutants: [
      ...contract(
        'ledger-revoke.spec.ts',
        'by a key covers earlier openings, even while an older run continues',
        ['schedules/schedules.rule.ts', FLOOR_IN_MEMORY, 'Math.max(committed, opened, floor)'],
        ['schedules/revoke.lua.ts', FLOOR_IN_REDIS, 'max(committed, opened, record.floor)'],
      ),
      ...contract(
        'ledger-revoke.spec.ts',
        'by a key covers what was opened by a clock ahead of the server’s',
        ['schedules/schedules.rule.ts', FLOOR_IN_MEMORY, 'Math.max(committed, floor, now)'],
        ['schedules/revoke.lua.ts', FLOOR_IN_REDIS, 'max(committed, record.floor, now)'],
      ),
      ...contract(
        'ledger-revoke.spec.ts',
        'by a reference leaves alone an add that is on its way, and remembers what was given up',
        ['schedules/schedules.rule.ts', FLOOR_IN_MEMORY, 'Math.max(committed, opened, floor, now)'],
        ['schedules/revoke.lua.ts', FLOOR_IN_REDIS, 'max(committed, opened, record.floor, now)'],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'refuses it if a revoke came after it was opened',
        [
          'records/job-record.ts',
          'if (generation > committed) return generation <= floor;',
          'if (generation > committed) return false;',
        ],
        [
          'records/record.lua.ts',
          'if generation > committed then return generation <= record.floor end',
          'if generation > committed then return false end',
        ],
      ),
    ],
  },
  {
    rule: 'A revoke that should be confirmed waits for copies that consumers hold, and does not answer while one is there.',
    mutants: [
      ...unit('producer/revoke.spec.ts', 'waits for a copy that a consumer holds, until the consumer %s', [
        'producer/revoker.ts',
        "if (!call.confirmed || result === 'running') {",
        'if (call) {',
      ]),
      ...unit(
        'producer/revoke.spec.ts',
        'fails while a consumer holds a copy, and asked again %s it confirms',
        [
          'producer/revoker.ts',
          "if (answer === 'revoked' && (held.length > 0 || known.length === 0))",
          "if (answer === 'revoked' && known.length === 0)",
        ],
      ),
      ...unit(
        'producer/revoke.spec.ts',
        'fails if nobody knows where the copies are, and a receipt confirms it',
        [
          'producer/revoker.ts',
          "if (answer === 'revoked' && (held.length > 0 || known.length === 0))",
          "if (answer === 'revoked' && held.length > 0)",
        ],
      ),
      ...unit('producer/revoke.spec.ts', 'does not confirm once its process closes', [
        'producer/revoker.ts',
        'this.context.refuseIfClosed(); // once it has left its nodes, it cannot tell whether they are unreachable',
        '',
      ]),
    ],
  },
  {
    rule: 'The record of a revoked job keeps the places of its copies, so that a repeated revoke deletes what the first could not.',
    mutants: [
      ...contract(
        'ledger-revoke.spec.ts',
        'keeps the places of the job it revoked, and those it was given',
        ['schedules/schedules.rule.ts', 'record.places = places;', 'record.places = [];'],
        ['schedules/revoke.lua.ts', "places = places ~= '' and places or nil }", 'places = nil }'],
      ),
    ],
  },
  {
    rule: 'A revoke is answered when the ledger has it, and after the deletions of its copies only if that should be confirmed or its end may be forgotten.',
    mutants: [
      ...unit('producer/revoke.spec.ts', 'answers only %s, if it should be confirmed', [
        'producer/revoker.ts',
        "if (result !== 'unknown' && !call.confirmed) {",
        "if (result !== 'unknown') {",
      ]),
      ...unit(
        'producer/revoke.spec.ts',
        'is in time for a job so long overdue that its end may be forgotten, when every copy was still there',
        ['producer/revoker.ts', "if (result !== 'unknown' && !call.confirmed) {", 'if (!call.confirmed) {'],
      ),
      ...unit('producer/revoke.spec.ts', 'is uncertain about such a job when a copy was missing', [
        'copies/deletion.ts',
        'return deleted === length && length > 0;',
        'return true;',
      ]),
      ...unit(
        'producer/revoke.spec.ts',
        'deletes nothing when the call to the ledger is %s, and may be asked again',
        [
          'producer/revoker.ts',
          'const { result, revoked } = await retries.run(',
          'await deleteCopies(parts, tube, { id, generation: born ?? 0 }, places);\n    const { result, revoked } = await retries.run(',
        ],
      ),
      ...inRedisOnly('ledger-revoke.spec.ts', 'lets a running job finish, and nothing follows it', [
        'schedules/revoke.lua.ts',
        "'NX', 'PX', max(now, due)",
        "'PX', max(now, due)",
      ]),
      ...inRedisOnly(
        'ledger-revoke.spec.ts',
        'cannot know what became of a job whose end may be forgotten, yet does not let it start',
        ['schedules/revoke.lua.ts', 'and due + DONE_TTL > now and', 'and'],
      ),
    ],
  },
  {
    rule: 'At most 50,000 jobs wait for their deletions, and a shutdown waits for these.',
    mutants: [
      ...unit(
        'producer/deferred-deletions.spec.ts',
        'makes a revoke wait where too much waits already, until some of it was sent',
        [
          'producer/deferred-deletions.ts',
          'if (this.waiting.length <= MAX_WAITING) return undefined;',
          'if (this.waiting.length <= Infinity) return undefined;',
        ],
      ),
      ...unit('producer/deferred-deletions.spec.ts', 'waits for all deletions, without a pause', [
        'producer/deferred-deletions.ts',
        'if (!this.busy) return;',
        'return;',
      ]),
      ...unit('producer/producer.spec.ts', 'waits for the deletions of what was revoked', [
        'producer/cluster-producer.ts',
        'await Promise.all([this.context.close(), this.revoker.close()]);',
        'await this.context.close();',
      ]),
    ],
  },
  {
    rule: 'A series follows ledger time alone: a process with a wrong clock begins and moves it as all others would.',
    mutants: [
      ...unit(
        'recurring/series-clock.spec.ts',
        'a series begins at the next occurrence by ledger time',
        ['producer/cluster-producer.ts', 'return ledger.now();', 'return this.parts.clock.wall();'],
        [
          'recurring/series.ts',
          'const now = await producer.ledgerTime(this.tube);',
          'const now = Date.now();',
        ],
      ),
      ...unit(
        'recurring/series-clock.spec.ts',
        'a series whose occurrence ended starts over at the next one by ledger time',
        ['producer/cluster-producer.ts', 'return ledger.now();', 'return this.parts.clock.wall();'],
      ),
      ...unit('recurring/series-clock.spec.ts', 'a series does not begin before ledger time is known', [
        'producer/cluster-producer.ts',
        'await ledger.readTime();',
        '',
      ]),
      ...unit(
        'ledger/redis/ledger-time.spec.ts',
        'is no time at all before the first reply, whatever the machine’s clock shows',
        [
          'ledger/redis/ledger-time.ts',
          'this.clock.now()) : -Infinity;',
          'this.clock.now()) : this.clock.wall();',
        ],
      ),
    ],
  },
  {
    rule: 'Each time of day of a plan comes once on the day on which the clock is changed.',
    mutants: [
      ...unit('recurring/occurrences.spec.ts', '%s in %s from %s on for %i days comes at %s', [
        'recurring/occurrences.ts',
        ", fixedTimeRule: 'no-wildcard'",
        '',
      ]),
    ],
  },
  {
    rule: 'An add whose outcome nobody knows is repeated without a second job: it is refused once a job born later is known under its key, even one that has ended.',
    mutants: [
      ...contract(
        'ledger-schedules.spec.ts',
        'is refused by `after` once a job was born after it, in whatever state, and not by an older one',
        ['schedules/schedules.rule.ts', 'record.born > opening.after', 'isLive(record)'],
        ['schedules/schedules.lua.ts', 'record.born > opening.after', 'isLive(record)'],
      ),
    ],
  },
];
