/**
 * The causes of records of audit and attacks, and the bytes that those of each cause may take in a history database
 * (docs/interface.md#limit-shares). Over its budget the oldest records of the tenant with the most are removed, and
 * among those the ones of its token with the most: so no caller and no attacker fills the disk, and none has another's
 * records removed. Orders of the administrator have a budget of their own, which nothing else takes.
 */

export const RECORD_CAUSES = ["orders", "tenant_orders", "automatic", "refused", "downloads", "attacks"] as const;
export type RecordCause = (typeof RECORD_CAUSES)[number];

/** Maximum size in bytes, and maximum share of the disk of this machine. */
export const RECORD_BUDGETS: Readonly<Record<RecordCause, { readonly bytes: number; readonly share: number }>> = {
  orders: { bytes: 2e9, share: 0.1 },
  tenant_orders: { bytes: 1e9, share: 0.05 },
  automatic: { bytes: 1e9, share: 0.05 },
  refused: { bytes: 250e6, share: 0.02 },
  downloads: { bytes: 250e6, share: 0.02 },
  attacks: { bytes: 2e9, share: 0.1 },
};

/** Bytes of a row beside its texts, with its places in indexes: an estimate. */
export const ROW_BYTES = 400;

/** The cause of a row of the table `audit`, in SQL of all databases. */
export const AUDIT_CAUSE = `CASE WHEN source <> 'api' THEN 'automatic' WHEN result IN ('rejected', 'error') THEN 'refused'
  WHEN action = 'packet_download' THEN 'downloads' WHEN tenant = '' THEN 'orders' ELSE 'tenant_orders' END`;
