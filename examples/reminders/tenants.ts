import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ClsService, type ClsStore } from 'nestjs-cls';
import { Discard, isDqContext, type DqHooks } from 'nest-dq';

export type TenantStore = ClsStore & { tenant?: string };

/** A header that anybody can write will do here. A real service takes the tenant from a token that it has verified. */
export const tenantOfRequest = (cls: ClsService, request: { headers: Record<string, string> }) =>
  cls.set('tenant', request.headers['x-tenant']);

/** The tenant of a request travels with each job it adds, and is there again when the job runs, before its guards. */
export const carryTenant = (cls: ClsService<TenantStore>): DqHooks => ({
  onSchedule: (headers) => {
    const tenant = cls.get('tenant');
    if (tenant !== undefined) headers['tenant'] = tenant;
  },
  aroundHandler: (job, next) => cls.runWith({ tenant: job.headers['tenant'] }, next),
});

@Injectable()
export class Tenants {
  private readonly open = new Set(['acme', 'globex']);

  isOpen(tenant: string | undefined): boolean {
    return tenant !== undefined && this.open.has(tenant);
  }

  close(tenant: string): void {
    this.open.delete(tenant);
  }
}

/** For routes and handlers: an account may be closed while its jobs wait. */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(
    private readonly cls: ClsService<TenantStore>,
    private readonly tenants: Tenants,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const tenant = this.cls.get('tenant');
    if (this.tenants.isOpen(tenant)) return true;
    // `false` would be a failed attempt, which is retried. This is a dead letter, which can be revived with the account.
    if (isDqContext(context)) throw Discard.because(`the account of ${tenant} is closed`);
    return false;
  }
}
