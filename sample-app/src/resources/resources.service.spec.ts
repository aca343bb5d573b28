import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Again, type DelayedJob } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import { TestApp } from '../../test/test-app.js';
import { Mailer } from '../mail/mailer.js';
import { ResourceDeletion, ResourcesService } from './resources.service.js';

const DAY = 86_400_000;
const PHOTOS = { name: 'photos', owner: 'ann@example.com' };

describe('ResourcesService', () => {
  let kit: DqTestKit;
  let app: TestApp;
  let resources: ResourcesService;

  beforeAll(async () => {
    jest.useFakeTimers(); // so that Date.now() keeps pace with the kit
    kit = new DqTestKit();
    app = await TestApp.start({ DAY_SECONDS: '86400' }, kit);
    resources = app.nest.get(ResourcesService);
  });

  afterAll(async () => {
    await app.close();
    await kit.close();
  });

  it('deletes a resource on day 30, after three notices', async () => {
    const subjects = () =>
      app.nest
        .get(Mailer)
        .sent()
        .map(({ subject }) => subject);
    const { id } = resources.add(PHOTOS);
    const { deletion } = await resources.planDeletion(id);
    const days = [...deletion!.notices, deletion!.at].map((due) => (Date.parse(due) - Date.now()) / DAY);
    expect(days).toEqual([23, 28, 29, 30]);
    await kit.advance('23 days');
    expect(subjects()).toEqual(['photos will be deleted in 7 days']);
    await kit.advance('6 days');
    expect(subjects()).toEqual([
      'photos will be deleted in 7 days',
      'photos will be deleted in 2 days',
      'photos will be deleted in a day',
    ]);
    expect(resources.get(id)).toMatchObject(PHOTOS);
    await kit.advance('1 day');
    expect(() => resources.get(id)).toThrow('there is no resource');
  });

  it('keeps a resource whose deletion is undone; it can be deleted again', async () => {
    const resource = resources.add(PHOTOS);
    await resources.planDeletion(resource.id);
    await expect(resources.planDeletion(resource.id)).rejects.toThrow('is already scheduled');
    expect(await resources.undoDeletion(resource.id)).toEqual({ resource, revoked: true });
    expect(kit.scheduled(ResourceDeletion).map(({ key }) => key)).not.toContain(resource.id);
    await expect(resources.undoDeletion(resource.id)).rejects.toThrow('is scheduled');
    await resources.planDeletion(resource.id);
  });

  it('plans one deletion when two ask at once', async () => {
    const { id } = resources.add(PHOTOS);
    const both = await Promise.allSettled([1, 2].map(() => resources.planDeletion(id)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('deletes nothing by the job of a deletion that was undone: that continues to the one that was planned since', async () => {
    const { id } = resources.add(PHOTOS);
    const early = { dueAt: kit.now } as DelayedJob;
    expect(await resources.advanceDeletion({ resourceId: id }, early)).toBeUndefined();
    const { deletion } = await resources.planDeletion(id);
    const again = await resources.advanceDeletion({ resourceId: id }, early);
    expect(again).toEqual(Again.at(new Date(deletion!.notices[0]!)));
    expect(resources.get(id)).toMatchObject(PHOTOS);
  });
});
