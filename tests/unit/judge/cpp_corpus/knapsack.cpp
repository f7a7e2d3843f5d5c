#include <bits/stdc++.h>
using namespace std;
int dp[100001];
int main(){int n,w;
scanf("%d %d",&n,&w);
while(n--){int a,b;
scanf("%d %d",&a,&b);
for(int j=w; j>=a; j--)dp[j]=max(dp[j],dp[j-a]+b);
}printf("%d\n",*max_element(dp,dp+w+1));
}
