import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerListener, TubeLedger } from '../ledger/ledger.js';
import { turn } from '../../spec-support/scripted-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { LedgerGate, type GateListener, type AdmissionView } from './ledger-gate.js';

describe('LedgerGate', () => {
  let clock: VirtualClock;
  let told: string[];
  const noted: GateListener = { gateChanged: (change) => void told.push(change) };
  let gate: LedgerGate;
  let ledger: { away: boolean; listener?: LedgerListener; answer(): void };

  beforeEach(() => {
    clock = new VirtualClock();
    told = [];
    let answer!: () => void;
    const time = new Promise<void>((resolve) => (answer = resolve));
    const fake = {
      away: false,
      listener: undefined as LedgerListener | undefined,
      answer,
      readTime: () => time,
      listen: (listener: LedgerListener) => {
        fake.listener = listener;
        return () => (fake.listener = undefined);
      },
    };
    ledger = fake;
    gate = new LedgerGate(fake as unknown as TubeLedger, clock);
  });

  function away(heardAt = 0): void {
    ledger.away = true;
    ledger.listener?.away(new Error('gone'), heardAt);
  }

  /** `sameServer`: it has forgotten nothing. */
  function back(sameServer = false): void {
    ledger.away = false;
    ledger.listener?.back(sameServer);
  }

  async function begun(): Promise<void> {
    gate.start(noted);
    ledger.answer();
    await turn();
    told.length = 0;
  }

  it('opens when the time was read', async () => {
    gate.start(noted);
    expect(gate.open).toBe(false);
    ledger.answer();
    await turn();
    expect(told).toEqual(['open']);
    expect(gate.open).toBe(true);
  });

  it('is shut while other processes use another ledger, and releases what it holds', async () => {
    let listener!: Parameters<AdmissionView['listen']>[0];
    const admission = {
      admitted: false,
      listen: (given: typeof listener) => {
        listener = given;
        return () => undefined;
      },
    };
    gate = new LedgerGate(ledger as unknown as TubeLedger, clock, admission);
    gate.start(noted);
    ledger.answer();
    await turn();
    expect([told, gate.open, gate.suspended]).toEqual([[], false, true]);
    admission.admitted = true;
    listener.admitted();
    expect([told, gate.open, gate.suspended]).toEqual([['open'], true, false]);
    admission.admitted = false;
    listener.refused();
    expect([told, gate.open, gate.suspended]).toEqual([['open', 'suspended'], false, true]);
  });

  it('is shut at once when the ledger is away, and suspends after a second', async () => {
    await begun();
    away();
    expect([gate.open, gate.suspended]).toEqual([false, false]);
    await clock.advance(999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(['suspended']);
    expect(gate.suspended).toBe(true);
  });

  it.each([500, 5_000])(
    'opens two seconds after a ledger is back from %i ms that may have forgotten what runs',
    async (absence) => {
      await begun();
      away();
      await clock.advance(absence);
      told.length = 0;
      back();
      expect(told).toEqual(['back']);
      await clock.advance(1_999);
      expect([told, gate.open]).toEqual([['back'], false]);
      await clock.advance(1);
      expect([told, gate.open, gate.suspended]).toEqual([['back', 'open'], true, false]);
    },
  );

  it('opens at once when a ledger is back that has forgotten nothing', async () => {
    await begun();
    away();
    await clock.advance(5_000);
    told.length = 0;
    back(true);
    expect([told, gate.open, gate.suspended]).toEqual([['back', 'open'], true, false]);
    await clock.advance(10_000);
    expect(told).toEqual(['back', 'open']);
  });

  it('spares leases that ended since the ledger was last heard, until it was there for two seconds', async () => {
    await begun();
    expect(gate.sparedFrom).toBeUndefined();
    away(1_234);
    back(true);
    await clock.advance(1_999);
    expect(gate.sparedFrom).toBe(1_234);
    await clock.advance(1);
    expect(gate.sparedFrom).toBeUndefined();
  });

  it('is open between short absences, however many, and spares what ended since the first', async () => {
    await begun();
    for (let i = 1; i <= 20; i++) {
      away(i * 1_000);
      await clock.advance(150);
      back(true);
      expect([gate.open, gate.sparedFrom]).toEqual([true, 1_000]);
      await clock.advance(1_750);
    }
    await clock.advance(250);
    expect(gate.sparedFrom).toBeUndefined();
  });

  it('does not open for a short absence in the two seconds that it waits for others', async () => {
    await begun();
    away();
    back(false);
    await clock.advance(1_000);
    away();
    back(true);
    await clock.advance(1_999);
    expect(gate.open).toBe(false);
    await clock.advance(1);
    expect(gate.open).toBe(true);
  });

  it('restarts the two seconds when the ledger goes away again', async () => {
    await begun();
    away();
    back();
    await clock.advance(1_500);
    away();
    await clock.advance(600);
    back();
    await clock.advance(1_999);
    expect(gate.open).toBe(false);
    await clock.advance(1);
    expect(gate.open).toBe(true);
  });

  it('begins two seconds after a ledger is back that was away at the start', async () => {
    ledger.away = true;
    ledger.answer(); // the time may be known from before
    gate.start(noted);
    await turn();
    expect(told).toEqual([]);
    back();
    await clock.advance(2_000);
    expect(told).toEqual(['back', 'open']);
    expect(gate.open).toBe(true);
  });

  it('reports nothing once it is closed', async () => {
    gate.start(noted);
    gate.close();
    ledger.answer();
    await turn();
    await clock.advance(10_000);
    expect([told, gate.open, ledger.listener]).toEqual([[], false, undefined]);
  });
});
